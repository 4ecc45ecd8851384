export { UpstreamError } from '../chain/index.ts'
export type { UpstreamReason } from '../chain/index.ts'

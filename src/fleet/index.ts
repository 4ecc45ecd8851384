export { Fleet } from './fleet.ts'
export type { FleetOptions, FleetStatus, Role } from './fleet.ts'
export { FleetError } from './errors.ts'

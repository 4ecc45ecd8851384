export { blockJson, logJson, receiptJson, receiptsJson, transactionJson } from './json.ts'

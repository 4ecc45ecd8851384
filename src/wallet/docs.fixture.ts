import { markdownReference } from '../jsonrpc/index.ts'
import { CONTROL_METHODS } from './control.ts'
import { CHAPTERS } from './table.ts'

/** The reference of the wallet's methods as Markdown, the contents of `docs/wallet.md`. */
export function walletReference(): string {
  const chapters = [...CHAPTERS, { title: 'Answering approval requests', methods: [...CONTROL_METHODS.values()] }]
  const preface = [
    '# Wallet methods',
    '',
    'Generated from the tables of `src/wallet` by `npm run docs`; do not edit.',
    'An app sends these to its provider, or to `POST /wallet` and `WS /wallet`, where its Origin identifies it. Other methods that begin with `eth_`, `net_` or',
    '`web3_` are answered by the node of the chain that the origin is on; anything else is 4200, and -32601 for `wallet_sendTransaction`, as viem requires.',
    "The methods of the last chapter need the wallet's control token.",
    'Any method answers -32602 with a message that names the parameter when a parameter is wrong, and 4100 when the owner of the wallet has switched it off.',
  ]
  return markdownReference(chapters, { preface })
}

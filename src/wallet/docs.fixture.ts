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
    'Any method that needs the node of an added chain answers 4901 if that node cannot be reached.',
    "The methods of the last chapter need the wallet's control token.",
    'Any method answers -32602 with a message that names the parameter when a parameter is wrong, and 4100 when the owner of the wallet has switched it off.',
    '',
    'A user answers on the page at `/wallet`, a script with the methods of the last chapter. If no page of the wallet is open, `provider.js` opens a window for',
    "a request that waits for an answer. When the user closes this window, the requests of the app's page that wait are rejected with 4001 (`data.reason` is",
    '`window-closed`), unless another page of the wallet is open, where they can still be answered. Another client of `WS /wallet` receives the event',
    '`approvalWaiting` for each request that waits (`isShown`: a page of the wallet is open), and sends `pocketchain_windowClosed` with the number of',
    'messages that it had sent before the window was closed. A page with `Cross-Origin-Opener-Policy: same-origin` cannot observe the end of the window:',
    'its requests wait until they are answered, and the next request opens the window again.',
  ]
  return markdownReference(chapters, { preface })
}

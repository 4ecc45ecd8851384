import { render } from 'preact'
import { startPopup } from '../popup/popup.ts'
import { WalletConnection } from './connection.ts'
import { Page } from './page.tsx'
import type { Client } from './page.tsx'
import { PageSecret } from './secret.ts'
import './style.css'

const connection = new WalletConnection(PageSecret.take())
const root = document.getElementById('page')
const show = (client: Client | null) => root !== null && render(<Page connection={connection} client={client} />, root)
const isPopup = startPopup(connection, (origin) => show({ origin }))
show(isPopup ? { origin: null } : null)

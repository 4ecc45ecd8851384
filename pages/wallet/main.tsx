import { render } from 'preact'
import { startPopup } from '../popup/popup.ts'
import { Link } from './link.ts'
import { Page } from './page.tsx'
import type { Client } from './page.tsx'
import { PageSecret } from './secret.ts'
import './style.css'

const link = new Link(PageSecret.take())
const root = document.getElementById('page')
const show = (client: Client | null) => root !== null && render(<Page link={link} client={client} />, root)
const isPopup = startPopup(link, (origin) => show({ origin }))
show(isPopup ? { origin: null } : null)

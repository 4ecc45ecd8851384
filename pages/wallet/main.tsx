import { render } from 'preact'
import { startPopup } from '../popup/popup.ts'
import { Link } from './link.ts'
import { Page } from './page.tsx'
import { PageSecret } from './secret.ts'
import './style.css'

const link = new Link(PageSecret.take())
const client = startPopup(link)
const root = document.getElementById('page')
if (root !== null) render(<Page link={link} client={client} />, root)

import { render } from 'preact'
import { startPopup } from '../popup/popup.ts'
import { Link } from './link.ts'
import { Page } from './page.tsx'
import './style.css'

const link = new Link()
const client = startPopup(link)
const root = document.getElementById('page')
if (root !== null) render(<Page link={link} client={client} />, root)

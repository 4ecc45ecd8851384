import { render } from 'preact'
import { PageSecret } from '../wallet/secret.ts'
import { Page } from './page.tsx'
import '../wallet/style.css'
import './style.css'

const secret = PageSecret.take()
const root = document.getElementById('page')
if (root !== null) render(<Page secret={secret} />, root)

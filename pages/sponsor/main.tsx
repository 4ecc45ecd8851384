import { render } from 'preact'
import { Page } from './page.tsx'
import '../wallet/style.css'
import './style.css'

const root = document.getElementById('page')
if (root !== null) render(<Page />, root)

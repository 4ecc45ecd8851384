import { render } from 'preact'
import { PageSecret } from '../wallet/secret.ts'
import { Explorer } from './explorer.tsx'
import '../wallet/style.css'
import '../sponsor/style.css'
import './style.css'

const secret = PageSecret.take()
const root = document.getElementById('page')
if (root !== null) render(<Explorer secret={secret} />, root)

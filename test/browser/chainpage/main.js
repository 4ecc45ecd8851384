import { playChain } from './play.ts'

globalThis.playChain = playChain

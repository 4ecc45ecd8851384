import { World } from '../../../src/evm/index.ts'
import { runFrame } from '../../../src/evm/engine.fixture.ts'
import { runOracle } from '../oracle/oracle.ts'
import { OracleWorld } from '../oracle/oracleworld.ts'
import type { Engine } from './compare.ts'

export const ORACLE: Engine<OracleWorld> = { open: (base) => new OracleWorld(base), run: runOracle }
export const OURS: Engine<World> = { open: (base) => new World(base), run: runFrame }
/** The traced build. */
export const TRACED: Engine<World> = { open: (base) => new World(base, { traced: true }), run: runFrame }

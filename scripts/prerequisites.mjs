// Installs what tests need beside the packages: a browser with its packages, and servers. `npm test` runs it while it checks the sources.
import { prepareBrowser } from './browser.mjs'
import { prepareServers } from './servers.mjs'

prepareBrowser()
prepareServers()

/** Version of the package, the same as in package.json, which a bundle of an app does not have beside it. */
export const VERSION = '0.2.0'

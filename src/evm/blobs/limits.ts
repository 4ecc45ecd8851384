/** Points between two pauses, which bounds the time between them: 4 to 8 ms. */
export const POINTS_PER_STEP = 8

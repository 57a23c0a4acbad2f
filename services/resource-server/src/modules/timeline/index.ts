/** The database's incarnations: when it changed its timeline or was restored, and whether commits from before may be lost. */
export { isBeforeChange, meetTimeline, readTimelineChange } from './timeline.js'

// Served as a file of its own and run before the page is drawn: nobody's theme must flash.
import { applyOwnAccent } from "./appearance"
import { load } from "./storage"
import { THEME_KEY } from "./theme_key"

const { dataset } = document.documentElement
const remembered = load(THEME_KEY)
// Of an account that has chosen nothing yet, the browser may still know something.
const isUndecided = dataset.appearance === undefined || dataset.appearance === "0"
if (isUndecided && (remembered === "light" || remembered === "dark")) dataset.theme = remembered
applyOwnAccent()

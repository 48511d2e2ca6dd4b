// Served as a file of its own and run before the page is drawn: a remembered theme must not flash.
import { load } from "./storage"
import { THEME_KEY } from "./theme_key"

const remembered = load(THEME_KEY)
if (remembered === "light" || remembered === "dark") document.documentElement.dataset.theme = remembered

import { Controller } from "@hotwired/stimulus"
import { forget, save } from "../storage"
import { THEME_KEY } from "../theme_key"

// Light or dark. Who chooses what the system has anyway goes on following the system.
export default class Theme extends Controller {
  toggle(): void {
    const root = document.documentElement
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
    const chosen = (root.dataset.theme ?? system) === "dark" ? "light" : "dark"
    if (chosen === system) {
      delete root.dataset.theme
      forget(THEME_KEY)
    } else {
      root.dataset.theme = chosen
      save(THEME_KEY, chosen)
    }
  }
}

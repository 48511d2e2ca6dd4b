import { Controller } from "@hotwired/stimulus"
import { applyScheme } from "../appearance"
import { isKeyOf } from "../keys"
import { _ } from "../language"
import { showProblem } from "../problem"
import { limitedFetch } from "../request_limit"
import { forget, save } from "../storage"
import { THEME_KEY } from "../theme_key"

const ADDRESS = "/api/v1/me/appearance"
const OTHER: Record<string, string> = { contrast_light: "contrast_dark", contrast_dark: "contrast_light", dark: "light" }

// Light or dark. Who chooses what the system has anyway goes on following the system. An account keeps it for all its
// browsers; for who is not signed in, this browser does.
export default class Theme extends Controller {
  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("theme", event) || document.querySelector("dialog[open]")) return
    event.preventDefault()
    this.toggle()
  }

  toggle(): void {
    const { dataset } = document.documentElement
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
    const other = OTHER[dataset.theme ?? system] ?? "dark"
    const scheme = other === system ? "system" : other
    applyScheme(scheme)
    if (dataset.appearance !== undefined) {
      forget(THEME_KEY)
      void this.keep(scheme)
    } else if (scheme === "system") forget(THEME_KEY)
    else save(THEME_KEY, scheme)
  }

  private async keep(scheme: string): Promise<void> {
    try {
      const headers = { "Content-Type": "application/json", Accept: "application/json" }
      // It arrives although somebody goes to another page at once.
      const request = { method: "PATCH", headers, body: JSON.stringify({ scheme }), keepalive: true }
      const response = await limitedFetch(ADDRESS, request)
      if (!response.ok) throw new Error(response.statusText)
      const { version } = (await response.json()) as { version: number }
      document.documentElement.dataset.appearance = String(version)
      // Otherwise the next visit would load the page anew.
      document.getElementById("appearance_version")?.setAttribute("content", String(version))
      this.dispatch("switched", { detail: { scheme, version } })
    } catch {
      showProblem(_("The theme could not be saved. Try again."))
    }
  }
}

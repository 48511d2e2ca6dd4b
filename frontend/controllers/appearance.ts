import { Controller } from "@hotwired/stimulus"
import { apply, type Look } from "../appearance"

// Shows the page as it would look with what is chosen; who leaves without saving has it as before.
export default class Appearance extends Controller<HTMLFormElement> {
  private saved: Look = {}

  override connect(): void {
    const { theme, accent, ownAccent, typeface, textSize, width, spacing, chips } = document.documentElement.dataset
    const now = { accent, ownAccent, typeface, textSize, width, spacing, chips }
    this.saved = { theme: theme ?? "system" }
    for (const [name, value] of Object.entries(now)) this.saved[name] = value ?? ""
    // What was refused is still chosen.
    this.preview()
  }

  override disconnect(): void {
    apply(this.saved)
  }

  preview(event?: Event): void {
    if (event?.target instanceof HTMLInputElement && event.target.type === "color") this.choose("accent", "own")
    apply(this.chosen)
  }

  answered(event: TurboSubmitEndEvent): void {
    if (event.detail.success) this.saved = this.chosen
  }

  // The button in the bar has saved its part already.
  switched(event: CustomEvent<{ scheme: string; version: number }>): void {
    const { scheme, version } = event.detail
    this.saved.theme = scheme
    this.choose("scheme", scheme)
    const seen = this.element.elements.namedItem("version")
    if (seen instanceof HTMLInputElement) seen.value = String(version)
  }

  private choose(name: string, value: string): void {
    const boxes = this.element.elements.namedItem(name)
    if (boxes instanceof RadioNodeList) boxes.value = value
  }

  private get chosen(): Look {
    const data = new FormData(this.element)
    const value = (name: string): string => String(data.get(name) ?? "")
    return {
      theme: value("scheme"),
      accent: value("accent"),
      ownAccent: value("own_accent"),
      typeface: value("typeface"),
      textSize: value("text_size"),
      width: value("width"),
      spacing: value("spacing"),
      chips: value("chips"),
    }
  }
}

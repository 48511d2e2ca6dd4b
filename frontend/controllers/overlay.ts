import { Controller } from "@hotwired/stimulus"
import { load, save } from "../storage"

// As in the styles: here there is room for it beside the chat, and it needs not be folded.
const BESIDE = matchMedia("(min-width: 80rem)")
// Whether somebody has folded or unfolded it; it is drawn anew with every reply.
const unfolded = new Map<string, boolean>()

// A card over the page. Who closes it has seen this version, and only the next one comes up again.
export default class Overlay extends Controller<HTMLElement> {
  static override targets = ["card"]
  static override values = { key: String, version: Number }

  declare readonly cardTarget: HTMLDetailsElement
  declare readonly keyValue: string
  declare readonly versionValue: number

  override connect(): void {
    this.element.hidden = load(this.place) === String(this.versionValue)
    this.cardTarget.open = unfolded.get(this.keyValue) ?? BESIDE.matches
  }

  folded(): void {
    const { open } = this.cardTarget
    if (open !== (unfolded.get(this.keyValue) ?? BESIDE.matches)) unfolded.set(this.keyValue, open)
  }

  dismiss(): void {
    save(this.place, String(this.versionValue))
    const hadFocus = this.element.contains(document.activeElement)
    this.element.hidden = true
    if (hadFocus) document.getElementById("composer_text")?.focus({ preventScroll: true })
  }

  private get place(): string {
    return `overlay/${this.keyValue}`
  }
}

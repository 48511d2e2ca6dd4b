import { Controller } from "@hotwired/stimulus"
import { isComposing, isKeyOf } from "../keys"

// Arrows lead from the box to the results and back; a key leads to the box.
export default class ResultKeys extends Controller {
  static override targets = ["box"]
  static override values = { results: String }

  declare readonly boxTarget: HTMLInputElement
  declare readonly resultsValue: string

  press(event: KeyboardEvent): void {
    if (isComposing(event) || event.defaultPrevented) return
    if (isKeyOf("search_box", event)) return this.focus(event, this.boxTarget)
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const links = [...document.querySelectorAll<HTMLElement>(`#${this.resultsValue} .result-link`)]
    const at = links.indexOf(document.activeElement as HTMLElement)
    const isInBox = document.activeElement === this.boxTarget
    if (event.key === "ArrowDown" && (isInBox || at >= 0)) this.focus(event, links[at + 1])
    else if (event.key === "ArrowUp" && at >= 0) this.focus(event, links[at - 1] ?? this.boxTarget)
  }

  private focus(event: KeyboardEvent, element: HTMLElement | undefined): void {
    event.preventDefault()
    element?.focus()
  }
}

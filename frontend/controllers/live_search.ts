import { Controller } from "@hotwired/stimulus"

const PAUSE = 250

type FrameRender = CustomEvent<{ newFrame: HTMLElement }>

// Searches while somebody types, when they pause; never in the middle of a character that is being composed.
// In a form that does more than search, the target is the button that searches.
export default class LiveSearch extends Controller<HTMLFormElement> {
  static override targets = ["submitter"]

  declare readonly hasSubmitterTarget: boolean
  declare readonly submitterTarget: HTMLButtonElement

  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  typed(event: InputEvent): void {
    clearTimeout(this.timer)
    if (!event.isComposing) this.timer = setTimeout(() => this.search(), PAUSE)
  }

  chosen(event: Event): void {
    if (event.target instanceof HTMLSelectElement) this.search()
  }

  // What is ticked while a search is under way would be gone with the list that it stands in.
  kept({ detail: { newFrame } }: FrameRender): void {
    for (const box of this.element.querySelectorAll<HTMLInputElement>("turbo-frame input[type=checkbox]")) {
      if (box.checked === box.defaultChecked) continue
      const selector = `input[name="${CSS.escape(box.name)}"][value="${CSS.escape(box.value)}"]`
      const same = newFrame.querySelector<HTMLInputElement>(selector)
      if (same) same.checked = box.checked
      else if (box.checked) newFrame.firstElementChild?.prepend(box.closest("label") ?? box)
    }
  }

  sent(): void {
    clearTimeout(this.timer)
  }

  private search(): void {
    this.element.requestSubmit(this.hasSubmitterTarget ? this.submitterTarget : null)
  }
}

import { Controller } from "@hotwired/stimulus"
import { forgetPageDraft, loadPageDraft, savePageDraft } from "../page_draft"

type Box = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

// Keeps what is typed into a form until the server has it. A draft that comes back also brings the version that it was
// made from, so that nothing that was saved since is overwritten unseen.
export default class PageDraft extends Controller<HTMLFormElement> {
  static override targets = ["version", "restored"]
  static override values = { key: String, unsaved: Boolean }

  declare readonly versionTarget: HTMLInputElement
  declare readonly hasVersionTarget: boolean
  declare readonly restoredTarget: HTMLElement
  declare readonly keyValue: string
  declare readonly unsavedValue: boolean

  private onItsWay = ""

  override connect(): void {
    const draft = loadPageDraft(this.keyValue)
    if (this.unsavedValue) this.keep()
    else if (draft && this.fill(draft.fields)) {
      if (this.hasVersionTarget) this.versionTarget.value = draft.version
      this.restoredTarget.hidden = false
    } else forgetPageDraft(this.keyValue)
  }

  changed(): void {
    this.keep()
  }

  sent(): void {
    this.onItsWay = this.written()
  }

  answered(event: TurboSubmitEndEvent): void {
    if (!event.detail.success) return
    this.restoredTarget.hidden = true
    if (this.written() === this.onItsWay) forgetPageDraft(this.keyValue)
    else this.keep()
  }

  // The link that calls this leads to the page as it is saved.
  discard(): void {
    forgetPageDraft(this.keyValue)
  }

  private keep(): void {
    const version = this.hasVersionTarget ? this.versionTarget.value : ""
    savePageDraft(this.keyValue, { version, fields: this.fields() })
  }

  private written(): string {
    return JSON.stringify(this.fields())
  }

  private fields(): Record<string, string> {
    return Object.fromEntries(this.boxes().map((box) => [box.name, valueOf(box)]))
  }

  // Whether anything in the form became different.
  private fill(fields: Record<string, string>): boolean {
    let isDifferent = false
    for (const box of this.boxes()) {
      const value = fields[box.name]
      if (value === undefined || value === valueOf(box)) continue
      if (isTick(box)) box.checked = value !== ""
      else box.value = value
      box.closest("details")?.setAttribute("open", "")
      isDifferent = true
    }
    return isDifferent
  }

  private boxes(): Box[] {
    return [...this.element.querySelectorAll<Box>("input[name]:not([type=hidden]), textarea[name], select[name]")]
  }
}

function isTick(box: Box): box is HTMLInputElement {
  return box instanceof HTMLInputElement && box.type === "checkbox"
}

function valueOf(box: Box): string {
  if (isTick(box)) return box.checked ? box.value : ""
  return box.value
}

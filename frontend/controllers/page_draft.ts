import { Controller } from "@hotwired/stimulus"
import { addRow, boxesIn, rowOf, type Box } from "../form_rows"
import { forgetPageDraft, loadPageDraft, savePageDraft, type DraftField } from "../page_draft"

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

  private fields(): DraftField[] {
    return boxesIn(this.element).map((box) => [box.name, valueOf(box)])
  }

  // Whether anything in the form became different. Boxes of one name are filled in their order; where the draft has
  // more of them, rows are added, and where it has fewer, the others are empty.
  private fill(fields: DraftField[]): boolean {
    let isDifferent = false
    for (const name of new Set(fields.map(([name]) => name))) {
      const values = fields.filter((field) => field[0] === name).map(([, value]) => value)
      for (const [index, box] of this.named(name, values.length).entries()) {
        const value = values[index] ?? ""
        if (value === valueOf(box)) continue
        if (isTick(box)) box.checked = value !== ""
        else box.value = value
        box.closest("details")?.setAttribute("open", "")
        isDifferent = true
      }
    }
    return isDifferent
  }

  private named(name: string, count: number): Box[] {
    const boxes = () => boxesIn(this.element).filter((box) => box.name === name)
    for (let missing = count - boxes().length; missing > 0; missing--) {
      const last = boxes().at(-1)
      const row = last && rowOf(last)
      if (row) addRow(row)
    }
    return boxes()
  }
}

function isTick(box: Box): box is HTMLInputElement {
  return box instanceof HTMLInputElement && (box.type === "checkbox" || box.type === "radio")
}

function valueOf(box: Box): string {
  if (isTick(box)) return box.checked ? box.value : ""
  return box.value
}

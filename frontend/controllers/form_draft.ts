import { Controller } from "@hotwired/stimulus"
import { forget, load, save } from "../storage"

type Values = [name: string, value: string][]

// Keeps what is typed into a long form until the server has it. The version that it was typed on is kept with it: what
// was changed elsewhere in the meantime is then the server's to tell.
export default class FormDraft extends Controller<HTMLFormElement> {
  static override targets = ["notice"]
  static override values = { key: String, kept: Boolean }

  declare readonly noticeTarget: HTMLElement
  declare readonly keyValue: string
  declare readonly keptValue: boolean

  private shown: Values = []

  override connect(): void {
    this.shown = this.values
    // The server has given back what was typed, with the version that it is now compared to.
    if (this.keptValue) this.edited()
    else this.restore()
  }

  edited(): void {
    save(this.key, JSON.stringify(this.values))
  }

  answered(event: TurboSubmitEndEvent): void {
    if (event.detail.success) forget(this.key)
  }

  discard(): void {
    forget(this.key)
    this.fill(this.shown)
    this.noticeTarget.hidden = true
  }

  private restore(): void {
    const draft = read(load(this.key))
    if (draft === null || same(draft, this.shown)) return
    this.fill(draft)
    this.noticeTarget.hidden = false
  }

  private fill(values: Values): void {
    const rest = [...values]
    for (const box of this.boxes) {
      const index = rest.findIndex(([name]) => name === box.name)
      if (index >= 0) box.value = rest.splice(index, 1)[0]![1]
    }
  }

  private get values(): Values {
    return this.boxes.map((box) => [box.name, box.value])
  }

  private get boxes(): (HTMLInputElement | HTMLTextAreaElement)[] {
    return [...this.element.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input[name], textarea[name]")]
  }

  private get key(): string {
    return `tavernkit:form:${this.keyValue}`
  }
}

function read(text: string | null): Values | null {
  try {
    return text === null ? null : (JSON.parse(text) as Values)
  } catch {
    return null
  }
}

function same(one: Values, other: Values): boolean {
  // Which version it was typed on makes no difference where nothing was typed.
  const texts = (values: Values) => JSON.stringify(values.filter(([name]) => name !== "version"))
  return texts(one) === texts(other)
}

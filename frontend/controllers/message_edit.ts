import { Controller } from "@hotwired/stimulus"
import { isComposing, isKeyInTextOf } from "../keys"
import { forget, load, save } from "../storage"

interface Draft {
  text: string
  revision: string
}

// The box in which a message is rewritten: a key saves, Escape leaves, and what was typed is kept until it is saved.
export default class MessageEdit extends Controller<HTMLFormElement> {
  static override targets = ["text", "save", "cancel", "notice"]

  declare readonly textTarget: HTMLTextAreaElement
  declare readonly saveTarget: HTMLButtonElement
  declare readonly cancelTarget: HTMLAnchorElement
  declare readonly noticeTarget: HTMLElement

  private message: Element | null = null

  override connect(): void {
    this.message = this.element.closest(".message")
    this.message?.classList.add("message-in-edit")
    // Put back after the message was replaced around it, it has begun long ago.
    if (this.element.dataset.from !== undefined) return
    this.element.dataset.from = document.activeElement?.id ?? ""
    this.restore()
    this.textTarget.focus({ preventScroll: true })
    this.textTarget.setSelectionRange(this.textTarget.value.length, this.textTarget.value.length)
    this.element.scrollIntoView({ block: "nearest", behavior: "instant" })
  }

  override disconnect(): void {
    this.message?.classList.remove("message-in-edit")
    const from = this.element.dataset.from
    // Not at once: what takes its place is not there yet.
    requestAnimationFrame(() => {
      if (this.element.isConnected || document.activeElement !== document.body) return
      const back = from && from !== "main" ? from : `more_${this.messageId}`
      document.getElementById(back)?.focus({ preventScroll: true })
    })
  }

  key(event: KeyboardEvent): void {
    if (isComposing(event)) return
    if (event.key === "Escape") {
      // Taken here, so that it does not also stop a reply.
      event.preventDefault()
      this.cancelTarget.click()
    } else if (isKeyInTextOf("save_edit", event)) {
      event.preventDefault()
      this.element.requestSubmit(this.saveTarget)
    }
  }

  typed(): void {
    save(this.draftKey, JSON.stringify({ text: this.textTarget.value, revision: this.revision.value }))
  }

  answered(event: TurboSubmitEndEvent): void {
    if (event.detail.success) forget(this.draftKey)
  }

  // Back to what the message says.
  discard(): void {
    forget(this.draftKey)
    this.textTarget.value = this.textTarget.defaultValue
    this.revision.value = this.revision.defaultValue
    this.noticeTarget.hidden = true
    this.textTarget.focus()
  }

  restored(): void {
    this.noticeTarget.hidden = false
  }

  // With the revision that it was typed on: what was changed in the meantime, the server then tells.
  private restore(): void {
    const draft = read(load(this.draftKey))
    if (!draft || draft.text === this.textTarget.value) return
    this.textTarget.value = draft.text
    this.revision.value = draft.revision
    this.noticeTarget.hidden = false
  }

  private get revision(): HTMLInputElement {
    return this.element.querySelector<HTMLInputElement>("input[name=revision]")!
  }

  private get messageId(): string {
    return this.element.id.replace("edit_", "")
  }

  private get draftKey(): string {
    return `tavernkit:edit:${this.messageId}`
  }
}

function read(text: string | null): Draft | null {
  try {
    return text === null ? null : (JSON.parse(text) as Draft)
  } catch {
    return null
  }
}

import { Controller } from "@hotwired/stimulus"
import { type Draft, loadDraft, saveDraft, setDraftOwner } from "../draft"
import { isKeyInTextOf } from "../keys"
import { _ } from "../language"
import { showProblem } from "../problem"
import { uuid } from "../uuid"

// The composer: keeps every word until the server has it.
export default class MessageForm extends Controller<HTMLFormElement> {
  static override targets = ["id", "text", "send"]
  static override values = { conversation: String, title: String, account: String }

  declare readonly idTarget: HTMLInputElement
  declare readonly textTarget: HTMLTextAreaElement
  declare readonly sendTarget: HTMLButtonElement
  declare readonly conversationValue: string
  declare readonly titleValue: string
  declare readonly accountValue: string

  private draft: Draft = { text: "" }
  private sending = false

  override connect(): void {
    this.draft = { ...loadDraft(this.conversationValue), title: this.titleValue, account: this.accountValue }
    setDraftOwner(this.accountValue)
    if (this.textTarget.value === "") this.textTarget.value = this.draft.text
    const sent = this.draft.attempt
    if (sent && document.getElementById(`message_${sent.id}`)) this.accepted(sent.id)
    this.edited()
  }

  edited(): void {
    this.draft.text = this.textTarget.value
    saveDraft(this.conversationValue, this.draft)
    this.fit()
  }

  key(event: KeyboardEvent): void {
    if (!isKeyInTextOf("send", event)) return
    event.preventDefault()
    if (!this.isEmpty()) this.element.requestSubmit(this.sendTarget)
  }

  submit(event: SubmitEvent): void {
    if (this.sending || this.isEmpty()) {
      event.preventDefault()
      event.stopImmediatePropagation()
      return
    }
    if (this.element.dataset.uploading === "true") {
      event.preventDefault()
      event.stopImmediatePropagation()
      showProblem(_("Wait until the pictures are uploaded."), this.element)
      return
    }
    const attempt = { id: uuid(), text: this.textTarget.value, pictures: this.pictures }
    if (!isSame(this.draft.attempt, attempt)) this.draft.attempt = attempt
    this.idTarget.value = (this.draft.attempt ?? attempt).id
    saveDraft(this.conversationValue, this.draft)
    this.sending = true
  }

  answered(event: TurboSubmitEndEvent): void {
    this.sending = false
    if (event.detail.success && this.draft.attempt) this.accepted(this.draft.attempt.id)
    // A disabled button loses the focus; somebody who has gone elsewhere is left there.
    if (document.activeElement === document.body) this.textTarget.focus()
  }

  // The answer may be lost on its way although the message arrived; then the channel brings it.
  inserted(event: CustomEvent<{ id: string }>): void {
    this.accepted(event.detail.id)
  }

  private accepted(id: string): void {
    const { attempt } = this.draft
    if (attempt?.id !== id) return
    // What was written while the message was on its way stays.
    const { value } = this.textTarget
    this.textTarget.value = value.startsWith(attempt.text) ? value.slice(attempt.text.length) : value
    this.draft.attempt = undefined
    this.dispatch("accepted", { detail: { pictures: attempt.pictures ?? [] } })
    showProblem("")
    this.edited()
  }

  private isEmpty(): boolean {
    return this.textTarget.value.trim() === "" && this.pictures.length === 0
  }

  private get pictures(): string[] {
    return [...this.element.querySelectorAll<HTMLInputElement>("input[name=picture]")].map((input) => input.value)
  }

  // Only for browsers whose style sheets cannot do it.
  private fit(): void {
    if (CSS.supports("field-sizing", "content")) return
    this.textTarget.style.height = "auto"
    this.textTarget.style.height = `${this.textTarget.scrollHeight}px`
  }
}

function isSame(one: Draft["attempt"], other: Draft["attempt"]): boolean {
  return one?.text === other?.text && String(one?.pictures ?? []) === String(other?.pictures ?? [])
}

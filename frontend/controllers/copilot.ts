import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { announce } from "../announcer"
import { type Candidate, remember, remembered } from "../candidates"
import { isComposing } from "../keys"
import { ngettext } from "../language"
import { limitedFetch } from "../request_limit"

const STREAMS = { Accept: "text/vnd.turbo-stream.html" }
// Events may be lost, and a job that fails sends none.
const LOOK_AGAIN_MS = 3_000

type Told = Candidate | { remaining_steps: number }
type Frame = HTMLElement & { src: string | null; reload(): Promise<void> }

// What a model writes for the person at this page: suggestions to choose from, and messages as long as they let it.
export default class Copilot extends Controller<HTMLElement> {
  static override targets = ["text", "list", "candidate", "mode"]
  static override values = { url: String }

  declare readonly textTarget: HTMLTextAreaElement
  declare readonly listTarget: HTMLElement
  declare readonly hasListTarget: boolean
  declare readonly candidateTargets: HTMLElement[]
  declare readonly modeTarget: HTMLElement
  declare readonly hasModeTarget: boolean
  declare readonly urlValue: string

  private timer = 0
  private wasOpen = false

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  receive(event: CustomEvent<{ copilot: Told }>): void {
    const { copilot } = event.detail
    if ("remaining_steps" in copilot) {
      this.drawMode()
    } else {
      remember(copilot)
      if (this.hasListTarget && this.listTarget.dataset.job === copilot.job) this.show(copilot)
    }
  }

  // Nobody knows what was told while the connection was lost.
  catchUp(): void {
    if (this.wasOpen || this.steps > 0) this.drawMode()
    this.wasOpen = true
    if (this.hasListTarget && this.isWaiting) void this.look()
  }

  listTargetConnected(list: HTMLElement): void {
    for (const candidate of remembered(list.dataset.job ?? "")) this.show(candidate)
    if (this.isWaiting) this.lookLater()
    // The button that was pressed has lost the focus meanwhile; on a phone, a keyboard would cover the list.
    if (matchMedia("(pointer: fine)").matches) this.textTarget.focus()
  }

  listTargetDisconnected(): void {
    clearTimeout(this.timer)
  }

  key(event: KeyboardEvent): void {
    if (isComposing(event) || event.ctrlKey || event.altKey || event.metaKey) return
    if (!this.hasListTarget || event.defaultPrevented || isElsewhere(event.target, this.textTarget)) return
    if (event.key === "Escape") {
      event.preventDefault()
      this.close()
    } else if (/^[1-4]$/.test(event.key) && this.textTarget.value === "") {
      const candidate = this.candidateTargets[Number(event.key) - 1]
      if (!(candidate instanceof HTMLButtonElement) || candidate.disabled) return
      event.preventDefault()
      this.put(textOf(candidate))
    }
  }

  choose(event: Event): void {
    this.put(textOf(event.currentTarget as HTMLElement))
  }

  close(): void {
    if (!this.hasListTarget) return
    const list = this.listTarget
    const closed = document.createElement("section")
    closed.id = list.id
    closed.hidden = true
    list.replaceWith(closed)
    this.textTarget.focus()
  }

  sent(event: TurboSubmitEndEvent): void {
    if (event.detail.success && this.hasListTarget) this.close()
  }

  // Who writes themselves needs nobody to write for them.
  typed(): void {
    if (this.steps === 0) return
    this.modeTarget.dataset.steps = "0"
    const body = new URLSearchParams({ steps: "0" })
    limitedFetch(this.urlValue, { method: "POST", headers: STREAMS, body })
      .then(async (response) => renderStreamMessage(await response.text()))
      .catch(() => this.drawMode())
  }

  private put(text: string): void {
    const { value } = this.textTarget
    const suggested = this.candidateTargets.some((candidate) => textOf(candidate) === value)
    // What somebody wrote themselves stays.
    this.textTarget.value = value.trim() === "" || suggested ? text : `${value.trimEnd()}\n\n${text}`
    this.textTarget.dispatchEvent(new Event("input", { bubbles: true }))
    this.textTarget.focus()
  }

  private show(candidate: Candidate): void {
    const element = this.candidateTargets.find(({ dataset }) => Number(dataset.index) === candidate.index)
    const text = element?.querySelector(".candidate-text")
    if (!element || !text) return
    const waited = this.isWaiting
    text.textContent = candidate.text ?? candidate.error ?? ""
    text.setAttribute("dir", "auto")
    element.classList.toggle("candidate-error", candidate.text === undefined)
    if (element instanceof HTMLButtonElement) element.disabled = candidate.text === undefined
    element.dataset.told = "true"
    if (waited && this.candidateTargets.every(({ dataset }) => dataset.told)) this.complete()
  }

  private complete(): void {
    this.listTarget.dataset.over = "true"
    clearTimeout(this.timer)
    const count = this.candidateTargets.filter((element) => !element.classList.contains("candidate-error")).length
    if (count > 0) announce(ngettext("{count} suggestion is ready.", "{count} suggestions are ready.", count))
  }

  private lookLater(): void {
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => void this.look(), LOOK_AGAIN_MS)
  }

  private async look(): Promise<void> {
    const { url, job } = this.listTarget.dataset
    const html = await streamsAt(url ?? "")
    if (!this.hasListTarget || this.listTarget.dataset.job !== job || !this.isWaiting) return
    if (html) renderStreamMessage(html)
    else this.lookLater()
  }

  private drawMode(): void {
    const frame = document.getElementById("copilot") as Frame | null
    if (!frame) return
    if (frame.getAttribute("src") === this.urlValue) void frame.reload()
    else frame.src = this.urlValue
  }

  private get isWaiting(): boolean {
    return this.listTarget.dataset.over === "false"
  }

  private get steps(): number {
    return this.hasModeTarget ? Number(this.modeTarget.dataset.steps) : 0
  }
}

async function streamsAt(url: string): Promise<string> {
  try {
    const response = await limitedFetch(url, { headers: STREAMS })
    return response.status === 200 ? await response.text() : ""
  } catch {
    // No connection: the channel says so, and asks again when there is one.
    return ""
  }
}

function textOf(candidate: HTMLElement): string {
  return candidate.querySelector(".candidate-text")?.textContent ?? ""
}

function isElsewhere(target: EventTarget | null, box: HTMLElement): boolean {
  return target !== box && target instanceof Element && target.matches("input, textarea, select, [contenteditable]")
}

import { Controller } from "@hotwired/stimulus"
import { visit } from "@hotwired/turbo"
import { announce } from "../announcer"
import { _ } from "../language"
import { replyChanged } from "../reply_notices"
import { limitedFetch } from "../request_limit"
import { runText } from "../run_text"
import { drawStory } from "../story_text"

const LOOK_AGAIN_MS = 500
// How often a reply that display scripts change is asked for.
const SHOW_AGAIN_MS = 700
// How long a reply may be shown before the page makes sure that it is still being written.
const MAKE_SURE_MS = 2_000

// What was last said aloud, so that a replaced element says nothing twice.
let announced = { run: "", status: "", speaker: "" }

// The reply that is being written: assembles its pieces, asks for what is missing, and says when it starts and ends.
export default class Typing extends Controller<HTMLElement> {
  static override targets = ["text", "waiting"]
  static override values = { run: String, status: String, speaker: String }

  declare readonly textTarget: HTMLElement
  declare readonly hasTextTarget: boolean
  declare readonly waitingTarget: HTMLElement
  declare readonly hasWaitingTarget: boolean
  declare readonly runValue: string
  declare readonly statusValue: string
  declare readonly speakerValue: string

  private frame = 0
  private timer = 0
  private fetching = false
  // What the server has made of the text with display scripts; empty where there are none for it.
  private html = ""

  override connect(): void {
    this.sayWhatChanged()
    replyChanged({ run: this.runValue, status: this.statusValue, speaker: this.speakerValue })
    this.element.closest(".chat")?.setAttribute("data-run", this.statusValue)
    if (!this.hasTextTarget) return
    const known = this.textTarget.textContent ?? ""
    if (isWriting(this.statusValue)) runText(this.runValue).setFrom(known)
    else runText(this.runValue).settle(known)
    this.textTarget.replaceChildren()
    this.textTarget.classList.remove("story-plain")
    this.draw()
    // The answer to a form may be older than the last event, and then no other event would come.
    if (isWriting(this.statusValue)) this.timer = window.setTimeout(() => void this.catchUp(), MAKE_SURE_MS)
  }

  override disconnect(): void {
    cancelAnimationFrame(this.frame)
    clearTimeout(this.timer)
  }

  receive(event: CustomEvent<{ run: string; offset: number; text: string }>): void {
    if (event.detail.run !== this.runValue) return
    if (!runText(this.runValue).add(event.detail)) void this.catchUp()
    this.drawSoon()
  }

  // After a gap, and whenever the connection is new: nobody knows what was said meanwhile.
  async catchUp(): Promise<void> {
    if (this.fetching || !isWriting(this.statusValue)) return
    this.fetching = true
    const known = await this.look()
    this.fetching = false
    if (!known || !this.element.isConnected) return
    const complete = runText(this.runValue).setFrom(known.text)
    this.html = known.html ?? ""
    this.drawSoon()
    clearTimeout(this.timer)
    if (!isWriting(known.status)) this.timer = window.setTimeout(() => this.drawPageAnew(), MAKE_SURE_MS)
    else if (!complete) this.timer = window.setTimeout(() => void this.catchUp(), LOOK_AGAIN_MS)
    else if (this.html) this.timer = window.setTimeout(() => void this.catchUp(), SHOW_AGAIN_MS)
  }

  private async look(): Promise<{ text: string; status: string; html?: string } | undefined> {
    try {
      const response = await limitedFetch(`/runs/${this.runValue}/text`, { headers: { Accept: "application/json" } })
      return response.ok ? await response.json() : undefined
    } catch {
      // No connection: the channel says so, and opens again by itself.
      return undefined
    }
  }

  // The reply has ended, and the event that says so has not come in time: the page is asked for instead.
  private drawPageAnew(): void {
    visit(location.href, { action: "replace" })
  }

  private drawSoon(): void {
    cancelAnimationFrame(this.frame)
    this.frame = requestAnimationFrame(() => this.draw())
  }

  private draw(): void {
    const { text } = runText(this.runValue)
    // The server's HTML has passed its allow-list, as that of a message has.
    if (!this.html) drawStory(this.textTarget, text)
    else if (this.textTarget.innerHTML !== this.html) this.textTarget.innerHTML = this.html
    if (this.hasWaitingTarget) this.waitingTarget.hidden = text.trim() !== ""
  }

  private sayWhatChanged(): void {
    const before = announced
    announced = { run: this.runValue, status: this.statusValue, speaker: this.speakerValue }
    const wasWriting = isWriting(before.status)
    if (isWriting(this.statusValue)) {
      const name = this.speakerValue
      if (!wasWriting) announce(_("{name} is writing.", { name }))
      // In a group, the next one begins as the last one ends.
      else if (before.run !== this.runValue)
        announce(_("{previous} has replied. {name} is writing.", { previous: before.speaker, name }))
    } else if (wasWriting) {
      if (this.statusValue === "canceled") announce(_("The reply was stopped."))
      else if (this.statusValue === "failed") announce(_("The reply failed."))
      else announce(_("{name} has replied.", { name: before.speaker }))
    }
  }
}

function isWriting(status: string): boolean {
  return status === "queued" || status === "running"
}

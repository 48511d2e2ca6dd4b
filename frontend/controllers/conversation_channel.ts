import { Controller } from "@hotwired/stimulus"
import { renderStreamMessage } from "@hotwired/turbo"
import { askStream } from "../events/connection"
import { PIPELINE_EVENTS, STILL_HERE_MS, type StreamEvent } from "../events/event_stream"
import { areNotificationsOn } from "../notifications"
import { isReplyAwaited } from "../reply_notices"
import { uuid } from "../uuid"

// A connection that comes back at once is nobody's business.
const QUIET_MS = 1_500
// Somebody who only looks something up in another tab comes back to a page that has heard everything.
const HIDDEN_MS = 10_000

// The events of this page: changes to the page, and the words of a reply while it is written. All pages of a browser
// share one connection, and a page that nobody sees has no part in it, unless it has to say that a reply is done.
export default class ConversationChannel extends Controller<HTMLElement> {
  static override targets = ["lost", "closed"]
  static override values = { conversation: String, after: Number, worker: String }

  declare readonly lostTarget: HTMLElement
  declare readonly closedTarget: HTMLElement
  declare readonly conversationValue: string
  declare readonly workerValue: string
  // The last event this page has seen. It stands in the page, because it describes the page.
  declare afterValue: number

  private client: string | undefined
  private leaving = 0
  private complaining = 0
  private stillHere = 0

  override connect(): void {
    addEventListener("pagehide", this.leave)
    addEventListener("pageshow", this.follow)
    addEventListener("online", this.retry)
    document.addEventListener("visibilitychange", this.follow)
    this.follow()
  }

  override disconnect(): void {
    this.leave()
    removeEventListener("pagehide", this.leave)
    removeEventListener("pageshow", this.follow)
    removeEventListener("online", this.retry)
    document.removeEventListener("visibilitychange", this.follow)
  }

  private readonly follow = (): void => {
    clearTimeout(this.leaving)
    if (document.visibilityState === "hidden") this.leaveLater()
    else if (!this.client) this.watch()
  }

  private leaveLater(): void {
    this.leaving = window.setTimeout(() => {
      if (isReplyAwaited(this.conversationValue) || areNotificationsOn()) this.leaveLater()
      else this.leave()
    }, HIDDEN_MS)
  }

  private watch(): void {
    this.client ??= uuid()
    const { client, conversationValue: conversation, afterValue: after } = this
    askStream({ kind: "watch", client, conversation, after }, this.workerValue, (event) => this.receive(event))
    this.stillHere = window.setTimeout(() => this.watch(), STILL_HERE_MS)
  }

  private readonly leave = (): void => {
    clearTimeout(this.leaving)
    clearTimeout(this.stillHere)
    this.fallSilent()
    if (this.client) askStream({ kind: "leave", client: this.client }, this.workerValue)
    this.client = undefined
  }

  private readonly retry = (): void => {
    askStream({ kind: "retry" }, this.workerValue)
  }

  private receive({ type, seq, data }: StreamEvent): void {
    if (type === "hello") this.opened()
    else if (type === "lost") this.lost()
    else if (type === "closed") this.closedTarget.hidden = false
    else if (type === "streams") this.changed(seq, data)
    else this.pass(PIPELINE_EVENTS.includes(type) ? "pipeline" : type, data)
  }

  private pass(name: string, data: string): void {
    this.dispatch(name, { target: document, prefix: "channel", detail: JSON.parse(data) })
  }

  private opened(): void {
    this.fallSilent()
    this.lostTarget.hidden = true
    this.closedTarget.hidden = true
    this.dispatch("open", { target: document, prefix: "channel" })
  }

  private changed(seq: number | undefined, data: string): void {
    this.afterValue = Math.max(this.afterValue, seq ?? 0)
    renderStreamMessage(data)
  }

  private lost(): void {
    // Who may not read any more is told that, and not that something is wrong with the connection.
    if (!this.closedTarget.hidden) return
    if (!this.complaining) this.complaining = window.setTimeout(() => (this.lostTarget.hidden = false), QUIET_MS)
  }

  private fallSilent(): void {
    clearTimeout(this.complaining)
    this.complaining = 0
  }
}

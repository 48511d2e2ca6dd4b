import { Controller } from "@hotwired/stimulus"
import { isInUse } from "../in_use"
import type { Changed } from "../news"

// Several things often change together, and the focus needs a moment to get from one place to the next.
const PAUSE_MS = 200

// Keeps the open tab of the side panel as things are. While somebody uses it, it only says that there is something new.
export default class PanelNews extends Controller<HTMLElement> {
  static override targets = ["frame", "notice"]

  declare readonly frameTarget: HTMLElement & { reload: () => Promise<void> }
  declare readonly noticeTarget: HTMLElement

  // For each kind of change the last event that told of it.
  private readonly latest = new Map<string, number>()
  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  heard({ detail }: Changed): void {
    for (const kind of detail.kinds) this.latest.set(kind, detail.version)
    this.settle()
  }

  settle(): void {
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.catchUp(), PAUSE_MS)
  }

  show(): void {
    this.noticeTarget.hidden = true
    void this.frameTarget.reload()
  }

  private catchUp(): void {
    const { isOld } = this
    const waits = isOld && isInUse(this.frameTarget)
    this.noticeTarget.hidden = !waits
    // What is on its way is looked at when it is here.
    if (isOld && !waits && !this.frameTarget.hasAttribute("busy")) void this.frameTarget.reload()
  }

  private get isOld(): boolean {
    const content = this.frameTarget.querySelector<HTMLElement>("[data-shows]")
    const kinds = content?.dataset.shows?.split(" ") ?? []
    return kinds.some((kind) => (this.latest.get(kind) ?? 0) > Number(content?.dataset.version))
  }
}

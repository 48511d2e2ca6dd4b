import { Controller } from "@hotwired/stimulus"
import { isInUse } from "../in_use"
import type { Changed, Chosen } from "../news"

// Several things often change together, and the focus needs a moment to get from one place to the next.
const PAUSE_MS = 200

// Keeps the open tab of the side panel as things are. While somebody uses it, it only says that there is something new.
export default class PanelNews extends Controller<HTMLElement> {
  static override targets = ["frame", "notice"]

  declare readonly frameTarget: HTMLElement & { reload: () => Promise<void> }
  declare readonly noticeTarget: HTMLElement

  // For each kind of change the last event that told of it.
  private readonly latest = new Map<string, number>()
  // What was chosen around the conversation, by place, since the tab was last asked for.
  private readonly chosen = new Map<string, string>()
  // What is chosen around it is said once. Who was away may have missed it.
  private hasBeenHere = false
  private wasAway = false
  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  heard({ detail }: Changed): void {
    for (const kind of detail.kinds) this.latest.set(kind, detail.version)
    this.settle()
  }

  chose({ detail }: Chosen): void {
    this.chosen.set(detail.place, detail.mark)
    this.settle()
  }

  opened(): void {
    this.wasAway = this.hasBeenHere
    this.hasBeenHere = true
    this.settle()
  }

  settle(): void {
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.catchUp(), PAUSE_MS)
  }

  show(): void {
    this.noticeTarget.hidden = true
    this.reload()
  }

  private catchUp(): void {
    const { isOld, mayBeOld } = this
    const isUsed = isInUse(this.frameTarget)
    this.noticeTarget.hidden = !(isOld && isUsed)
    // What is on its way is looked at when it is here.
    if ((isOld || mayBeOld) && !isUsed && !this.frameTarget.hasAttribute("busy")) this.reload()
  }

  private reload(): void {
    this.chosen.clear()
    this.wasAway = false
    void this.frameTarget.reload()
  }

  private get content(): HTMLElement | null {
    return this.frameTarget.querySelector<HTMLElement>("[data-shows]")
  }

  private get kinds(): string[] {
    return this.content?.dataset.shows?.split(" ") ?? []
  }

  private get isOld(): boolean {
    const version = Number(this.content?.dataset.version)
    return this.kinds.some((kind) => (this.latest.get(kind) ?? 0) > version) || (this.showsChoices && this.isChosenAnew)
  }

  private get mayBeOld(): boolean {
    return this.wasAway && this.showsChoices
  }

  private get showsChoices(): boolean {
    return this.kinds.includes("pipelines")
  }

  private get isChosenAnew(): boolean {
    return [...this.chosen].some(([place, mark]) => {
      const shown = this.frameTarget.querySelector<HTMLElement>(`[data-place="${place}"]`)
      return shown?.dataset.mark !== mark
    })
  }
}

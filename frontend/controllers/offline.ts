import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { copyText } from "../clipboard"
import { unsentDrafts } from "../draft"
import { _ } from "../language"
import { limitedFetch } from "../request_limit"

const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 30_000
// What a proxy answers when the server behind it does not.
const NOBODY_THERE = [502, 504]

// Stands in for a page while the server cannot be reached: shows what was typed, and comes back by itself.
export default class Offline extends Controller<HTMLElement> {
  static override targets = ["state", "drafts", "list", "draft"]
  static override values = { address: String }

  declare readonly stateTarget: HTMLElement
  declare readonly draftsTarget: HTMLElement
  declare readonly listTarget: HTMLElement
  declare readonly draftTarget: HTMLTemplateElement
  declare readonly addressValue: string

  private pause = FIRST_PAUSE_MS
  private timer = 0

  override connect(): void {
    addEventListener("online", this.look)
    this.showDrafts()
    this.lookLater()
  }

  override disconnect(): void {
    removeEventListener("online", this.look)
    clearTimeout(this.timer)
  }

  async retry(): Promise<void> {
    this.stateTarget.textContent = ""
    if (!(await this.goOn())) this.stateTarget.textContent = _("The server still does not answer.")
  }

  async copy({ currentTarget }: Event): Promise<void> {
    const text = (currentTarget as HTMLElement).closest("li")?.querySelector("p")?.textContent ?? ""
    announce((await copyText(text)) ? _("Copied.") : _("The browser does not allow copying here."))
  }

  private readonly look = (): void => {
    void this.goOn()
  }

  private lookLater(): void {
    this.timer = window.setTimeout(() => {
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS)
      void this.goOn().then((isBack) => {
        if (!isBack) this.lookLater()
      })
    }, this.pause)
  }

  // To the page that was asked for; this page's own address was asked for by nobody.
  private async goOn(): Promise<boolean> {
    if (!(await isServerThere())) return false
    if (location.pathname === this.addressValue) location.replace("/")
    else location.reload()
    return true
  }

  private showDrafts(): void {
    const drafts = unsentDrafts()
    this.draftsTarget.hidden = drafts.length === 0
    for (const { conversation, title, text } of drafts) {
      const row = this.draftTarget.content.cloneNode(true) as DocumentFragment
      const link = row.querySelector("a")!
      link.href = `/conversations/${conversation}`
      link.textContent = title
      row.querySelector("p")!.textContent = text
      this.listTarget.append(row)
    }
  }
}

async function isServerThere(): Promise<boolean> {
  try {
    return !NOBODY_THERE.includes((await limitedFetch("/health", { cache: "no-store" })).status)
  } catch {
    return false
  }
}

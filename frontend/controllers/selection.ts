import { Controller } from "@hotwired/stimulus"
import { _, ngettext } from "../language"

// The ticked rows of a table: how many they are, how many tokens they have together, and what can be done with them.
export default class Selection extends Controller<HTMLElement> {
  static override targets = ["box", "page", "all", "summary", "actions"]

  declare readonly boxTargets: HTMLInputElement[]
  declare readonly pageTarget: HTMLInputElement
  declare readonly allTarget: HTMLInputElement
  declare readonly hasAllTarget: boolean
  declare readonly summaryTarget: HTMLElement
  declare readonly actionsTarget: HTMLFieldSetElement

  override connect(): void {
    this.changed()
  }

  // A row that was drawn anew is not ticked any more.
  boxTargetConnected(): void {
    if (this.element.isConnected) this.changed()
  }

  page(): void {
    for (const box of this.boxTargets) box.checked = this.pageTarget.checked
  }

  changed(): void {
    const isAll = this.hasAllTarget && this.allTarget.checked
    const ticked = isAll ? [this.allTarget] : this.boxTargets.filter((box) => box.checked)
    const count = isAll ? Number(this.allTarget.dataset.count) : ticked.length
    const tokens = ticked.reduce((sum, box) => sum + Number(box.dataset.tokens), 0)
    this.actionsTarget.disabled = count === 0
    this.pageTarget.checked = this.boxTargets.length > 0 && this.boxTargets.every((box) => box.checked)
    this.summaryTarget.textContent = count
      ? ngettext("{count} entry selected, {tokens} tokens", "{count} entries selected, {tokens} tokens", count, { tokens })
      : _("No entries selected")
  }
}

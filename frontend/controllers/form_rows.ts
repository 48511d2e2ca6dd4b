import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { addRow, boxesIn, clearRow, rowOf } from "../form_rows"
import { _ } from "../language"

// A list of rows in a form. The last one stays and is emptied: it is what new ones are made from.
export default class FormRows extends Controller<HTMLElement> {
  add(): void {
    const last = this.rows.at(-1)
    if (last) boxesIn(addRow(last))[0]?.focus()
  }

  remove(event: Event): void {
    const row = rowOf(event.currentTarget as HTMLElement)
    if (!row) return
    const index = this.rows.indexOf(row)
    if (this.rows.length > 1) row.remove()
    else clearRow(row)
    const next = this.rows[Math.min(index, this.rows.length - 1)]
    if (next) boxesIn(next)[0]?.focus()
    announce(_("Removed. {count} left.", { count: this.rows.length }))
    this.element.dispatchEvent(new Event("input", { bubbles: true }))
  }

  private get rows(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>("[data-form-row]")]
  }
}

import { Controller } from "@hotwired/stimulus"
import { SettingControl } from "../setting_control"
import type { Json } from "../settings_store"

type Condition = ({ context: string } | { ref: string }) & ({ const: Json } | { in: Json[] })

const PROVIDER = "model.provider_id"

// Which of the settings of the schema are shown: those that matter as things are, that are searched for, and, if wanted,
// that were changed.
export default class SchemaRenderer extends Controller<HTMLElement> {
  static override targets = ["field", "group", "search", "changed", "nothing"]
  static override values = { context: Object }

  declare readonly fieldTargets: HTMLElement[]
  declare readonly groupTargets: HTMLElement[]
  declare readonly searchTarget: HTMLInputElement
  declare readonly changedTarget: HTMLInputElement
  declare readonly nothingTarget: HTMLElement
  declare readonly contextValue: Record<string, Json>

  override connect(): void {
    this.refresh()
  }

  refresh(): void {
    const words = this.searchTarget.value.toLowerCase().split(/\s+/).filter(Boolean)
    const onlyChanged = this.changedTarget.checked
    for (const field of this.fieldTargets) {
      const isChanged = field.hasAttribute("data-changed")
      const isFound = words.every((word) => field.dataset.words?.includes(word))
      field.hidden = !isFound || (onlyChanged ? !isChanged : !isChanged && !this.matters(field))
    }
    for (const group of this.groupTargets)
      group.hidden = !this.fieldTargets.some((field) => group.contains(field) && !field.hidden)
    this.nothingTarget.hidden = this.fieldTargets.some((field) => !field.hidden)
  }

  private matters(field: HTMLElement): boolean {
    if (!field.dataset.condition) return true
    const condition = JSON.parse(field.dataset.condition) as Condition
    const value = "ref" in condition ? this.valueAt(condition.ref) : this.contextOf(condition.context)
    const wanted = "const" in condition ? [condition.const] : condition.in
    return value === undefined || wanted.includes(value)
  }

  private contextOf(name: string): Json | undefined {
    const provider = this.settingAt(PROVIDER)?.control
    const chosen = provider instanceof HTMLSelectElement ? provider.selectedOptions[0]?.dataset.hint : undefined
    return name === "provider_kind" && chosen ? chosen : this.contextValue[name]
  }

  private valueAt(path: string): Json | undefined {
    return this.settingAt(path)?.value
  }

  private settingAt(path: string): SettingControl | undefined {
    const field = this.fieldTargets.find(({ dataset }) => dataset.path === path)
    return field && new SettingControl(field)
  }
}

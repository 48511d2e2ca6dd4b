import { Controller } from "@hotwired/stimulus"
import { _, ngettext } from "../language"
import { SettingControl } from "../setting_control"
import type { Json } from "../settings_store"
import { load, save } from "../storage"

type Condition = ({ context: string } | { ref: string }) & ({ const: Json } | { in: Json[] })

const PROVIDER = "model.provider_id"
const CHOSEN_TAB = "settings-tab"

// Which of the settings of the schema are shown: those of the chosen tab that matter as things are; or of all tabs, those
// that are searched for and, if wanted, that were changed.
export default class SchemaRenderer extends Controller<HTMLElement> {
  static override targets = ["field", "group", "search", "changed", "nothing", "tablist", "tab", "panel"]
  static override values = { context: Object }

  declare readonly fieldTargets: HTMLElement[]
  declare readonly groupTargets: HTMLElement[]
  declare readonly searchTarget: HTMLInputElement
  declare readonly changedTarget: HTMLInputElement
  declare readonly nothingTarget: HTMLElement
  declare readonly tablistTarget: HTMLElement
  declare readonly tabTargets: HTMLElement[]
  declare readonly panelTargets: HTMLElement[]
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
    this.drawTabs(words.length > 0 || onlyChanged)
  }

  choose({ currentTarget }: Event): void {
    save(CHOSEN_TAB, (currentTarget as HTMLElement).id)
    this.refresh()
  }

  move(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const tabs = this.tabTargets.filter((tab) => !tab.hidden)
    const place = tabs.indexOf(event.currentTarget as HTMLElement)
    const places: Record<string, number> = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: -1 }
    const next = places[event.key]
    if (next === undefined) return
    event.preventDefault()
    const tab = tabs.at(next % tabs.length)
    tab?.focus()
    tab?.click()
  }

  private drawTabs(isSearch: boolean): void {
    const filled = this.panelTargets.filter((panel) => this.fieldsIn(panel).some((field) => !field.hidden))
    const chosen = filled.find((panel) => this.tabOf(panel)?.id === load(CHOSEN_TAB)) ?? filled[0]
    this.tablistTarget.hidden = isSearch || filled.length < 2
    for (const panel of this.panelTargets) {
      const isFilled = filled.includes(panel)
      panel.hidden = isSearch ? !isFilled : panel !== chosen
      panel.role = isSearch ? "group" : "tabpanel"
      const tab = this.tabOf(panel)
      if (!tab) continue
      tab.hidden = !isFilled
      tab.ariaSelected = String(panel === chosen)
      tab.tabIndex = panel === chosen ? 0 : -1
      this.drawCount(tab, panel)
    }
  }

  // How many settings of a tab are changed; or that one of them could not be saved.
  private drawCount(tab: HTMLElement, panel: HTMLElement): void {
    const changed = this.fieldsIn(panel).filter((field) => field.hasAttribute("data-changed")).length
    const isWrong = panel.querySelector('[aria-invalid="true"], [data-part="conflict"]') !== null
    const [count, changes] = ["count", "changes"].map((part) => tab.querySelector(`[data-part="${part}"]`))
    if (count) count.textContent = isWrong ? "!" : changed > 0 ? String(changed) : ""
    if (changes)
      changes.textContent = isWrong
        ? _("Not everything is saved.")
        : changed > 0
          ? ngettext("{count} changed", "{count} changed", changed)
          : ""
  }

  private tabOf(panel: HTMLElement): HTMLElement | undefined {
    return this.tabTargets.find((tab) => tab.getAttribute("aria-controls") === panel.id)
  }

  private fieldsIn(panel: HTMLElement): HTMLElement[] {
    return this.fieldTargets.filter((field) => panel.contains(field))
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

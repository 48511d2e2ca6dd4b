import { Controller } from "@hotwired/stimulus"
import { _ } from "../language"
import type { Changed } from "../news"
import { SettingControl } from "../setting_control"
import { effectiveIn, type Json, ownIn, settingsStore, type SettingsStore } from "../settings_store"

// The kinds of events that tell of settings; what a member is given counts as well.
const SHOWN = ["settings", "members"]
const SOURCES: Record<string, string> = {
  space: _("From the space"),
  member: _("From the member"),
  conversation: _("From the conversation"),
}

// Settings that are saved while somebody types. What is not saved yet is kept by the store; this draws it.
export default class SettingsForm extends Controller<HTMLFormElement> {
  static override targets = ["field", "status", "save", "conflict"]
  static override values = { resource: String, version: Number }

  declare readonly fieldTargets: HTMLElement[]
  declare readonly statusTarget: HTMLElement
  declare readonly saveTargets: HTMLElement[]
  declare readonly conflictTarget: HTMLTemplateElement
  declare readonly resourceValue: string
  declare readonly versionValue: number

  private store: SettingsStore | undefined
  private settings: SettingControl[] = []
  private leave: (() => void) | undefined

  override connect(): void {
    this.store = settingsStore(this.resourceValue)
    this.settings = this.fieldTargets.map((element) => new SettingControl(element))
    this.store.see(
      this.versionValue,
      new Map(this.settings.map(({ path, element }) => [path, JSON.parse(element.dataset.own ?? "null") as Json])),
    )
    // The button is for browsers without scripts.
    for (const button of this.saveTargets) button.hidden = true
    for (const setting of this.settings) {
      const typed = this.store.typed(setting.path)
      if (typed !== undefined) setting.value = typed
    }
    this.leave = this.store.listen(() => this.draw())
    this.draw()
  }

  override disconnect(): void {
    this.leave?.()
    void this.store?.flush()
  }

  typed(event: Event): void {
    if (event instanceof InputEvent && event.isComposing) return
    const setting = this.settingAt(event.target)
    if (!setting) return
    const { slider } = setting
    if (slider && event.target === slider) setting.control.value = slider.value
    else setting.moveSlider()
    // Leaving a field repeats its last value. It may be in a conflict by now, which only its buttons decide.
    const typed = this.store?.typed(setting.path)
    const known = typed === undefined ? this.shown(setting) : typed
    if (event.type === "change" && JSON.stringify(known) === JSON.stringify(setting.value)) return
    const { problem } = setting
    if (problem === null) this.store?.edit(setting.path, setting.value)
    else this.store?.hold(setting.path, setting.value, problem)
  }

  heard({ detail }: Changed): void {
    if (detail.kinds.some((kind) => SHOWN.includes(kind))) void this.look()
  }

  // When the focus has gone on, what was changed elsewhere can be shown where it was.
  left(): void {
    requestAnimationFrame(() => {
      if (this.store?.isBehind) void this.look()
    })
  }

  submit(event: Event): void {
    event.preventDefault()
    void this.store?.flush()
  }

  reset(event: Event): void {
    const setting = this.settingAt(event.target)
    if (!setting) return
    this.store?.edit(setting.path, null)
    setting.control.focus()
  }

  keepMine(event: Event): void {
    const setting = this.settingAt(event.target)
    const conflict = setting && this.store?.conflicts.get(setting.path)
    if (!conflict) return
    this.store?.edit(setting.path, conflict.mine)
    setting.control.focus()
  }

  takeTheirs(event: Event): void {
    const setting = this.settingAt(event.target)
    if (!setting) return
    this.store?.takeTheirs(setting.path)
    setting.control.focus()
  }

  private async look(): Promise<void> {
    await this.store?.look(this.settingAt(document.activeElement)?.path)
  }

  private draw(): void {
    this.statusTarget.textContent = this.store?.status ?? ""
    for (const setting of this.settings) this.drawSetting(setting)
    this.dispatch("drawn")
  }

  private drawSetting(setting: SettingControl): void {
    const { path, element } = setting
    const isTyped = this.store?.typed(path) !== undefined
    const latest = this.store?.latest
    if (latest && !isTyped) {
      const own = ownIn(latest, path)
      const { value, source } = effectiveIn(latest, path)
      const shown = own === null && setting.isNullable ? null : value
      if (JSON.stringify(setting.value) !== JSON.stringify(shown)) setting.value = shown
      if (own === null) setting.show(value)
      element.dataset.own = JSON.stringify(own)
      element.toggleAttribute("data-changed", own !== null)
      this.say(setting, own !== null ? _("Changed here") : (SOURCES[source] ?? ""))
    }
    if (this.store?.news.has(path)) this.say(setting, _("Changed elsewhere just now"))
    const reset = setting.part("reset")
    if (reset) reset.hidden = !element.hasAttribute("data-changed")
    this.drawProblem(setting)
    this.drawConflict(setting)
  }

  private say(setting: SettingControl, source: string): void {
    const words = setting.part("source")
    if (words) words.textContent = source
  }

  private drawProblem(setting: SettingControl): void {
    const held = this.store?.held.get(setting.path)
    const line = setting.part("problem")
    if (line) {
      line.textContent = held?.sentence ?? ""
      line.hidden = !held
    }
    setting.control.setAttribute("aria-invalid", String(held !== undefined))
  }

  private drawConflict(setting: SettingControl): void {
    const conflict = this.store?.conflicts.get(setting.path)
    let box = setting.part("conflict")
    if (!conflict) {
      box?.remove()
      return
    }
    if (!box) {
      setting.element.append(this.conflictTarget.content.cloneNode(true))
      box = setting.part("conflict")
    }
    const words = { theirs: setting.inWords(conflict.theirs), mine: setting.inWords(conflict.mine) }
    for (const [name, text] of Object.entries(words)) {
      const place = setting.part(name)
      if (place) place.textContent = text
    }
  }

  // What the control shows when nobody has typed anything.
  private shown(setting: SettingControl): Json {
    const latest = this.store?.latest
    const own = JSON.parse(setting.element.dataset.own ?? "null") as Json
    if (own !== null || setting.isNullable) return own
    return latest ? effectiveIn(latest, setting.path).value : setting.initial
  }

  private settingAt(target: EventTarget | null): SettingControl | undefined {
    return this.settings.find(({ element }) => target instanceof Node && element.contains(target))
  }
}

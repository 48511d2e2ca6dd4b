import { Controller } from "@hotwired/stimulus"
import { areNotificationsOn, canNotify, NOTIFY_KEY, SHOW_TEXT_KEY } from "../notifications"
import { forget, load, save } from "../storage"

// The switches for notifications on this device.
export default class Notifications extends Controller<HTMLElement> {
  static override targets = ["replies", "text", "denied", "impossible"]

  declare readonly repliesTarget: HTMLInputElement
  declare readonly textTarget: HTMLInputElement
  declare readonly deniedTarget: HTMLElement
  declare readonly impossibleTarget: HTMLElement

  override connect(): void {
    this.show()
  }

  async switchReplies(): Promise<void> {
    if (!this.repliesTarget.checked) forget(NOTIFY_KEY)
    else if ((await Notification.requestPermission()) === "granted") save(NOTIFY_KEY, "on")
    this.show()
  }

  switchText(): void {
    if (this.textTarget.checked) save(SHOW_TEXT_KEY, "on")
    else forget(SHOW_TEXT_KEY)
  }

  private show(): void {
    const isOn = areNotificationsOn()
    this.repliesTarget.checked = isOn
    this.repliesTarget.disabled = !canNotify()
    this.textTarget.checked = load(SHOW_TEXT_KEY) === "on"
    this.textTarget.disabled = !isOn
    this.impossibleTarget.hidden = canNotify()
    this.deniedTarget.hidden = !canNotify() || Notification.permission !== "denied"
  }
}

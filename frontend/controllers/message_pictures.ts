import { Controller } from "@hotwired/stimulus"
import { _ } from "../language"
import { showProblem } from "../problem"
import { limitedFetch } from "../request_limit"
import { forget, load, save } from "../storage"

export interface DraftPicture {
  id: string
  sha256: string
  title: string
}

interface Answer {
  id?: string
  sha256?: string
  error?: { sentence?: string }
}

// The pictures of a message that is written or changed: chosen, dropped or pasted, uploaded at once, and kept with what
// was typed until the message is sent.
export default class MessagePictures extends Controller<HTMLFormElement> {
  static override targets = ["file", "list", "item", "template", "text"]
  static override values = { conversation: String, key: String, limit: Number, megabytes: Number }

  declare readonly fileTarget: HTMLInputElement
  declare readonly listTarget: HTMLElement
  declare readonly itemTargets: HTMLElement[]
  declare readonly templateTarget: HTMLTemplateElement
  declare readonly textTarget: HTMLTextAreaElement
  declare readonly conversationValue: string
  declare readonly keyValue: string
  declare readonly limitValue: number
  declare readonly megabytesValue: number

  private shown = ""

  override connect(): void {
    // Put back after the message was replaced around it, it has its pictures.
    if (this.element.dataset.pictures === undefined) {
      this.element.dataset.pictures = this.written
      const draft = read(load(this.key))
      if (draft && JSON.stringify(draft) !== this.written) {
        this.fill(draft)
        this.dispatch("restored")
      }
    }
    this.shown = this.element.dataset.pictures
    this.redraw()
  }

  choose(): void {
    this.fileTarget.click()
  }

  chosen(): void {
    void this.add([...(this.fileTarget.files ?? [])])
    this.fileTarget.value = ""
  }

  over(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files") || event.defaultPrevented) return
    // Otherwise the browser would leave the page and show the file.
    event.preventDefault()
    this.element.classList.add("takes-pictures")
  }

  leave(event: DragEvent): void {
    if (event.relatedTarget === null) this.element.classList.remove("takes-pictures")
  }

  drop(event: DragEvent): void {
    this.element.classList.remove("takes-pictures")
    if (!event.dataTransfer?.files.length || event.defaultPrevented) return
    event.preventDefault()
    void this.add([...event.dataTransfer.files])
  }

  paste(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith("image/"))
    // Tables and documents are copied as text and as a picture of it.
    if (files.length === 0 || event.clipboardData?.types.includes("text/plain")) return
    event.preventDefault()
    void this.add(files)
  }

  remove(event: Event): void {
    const item = (event.currentTarget as HTMLElement).closest("li")
    const id = item?.querySelector<HTMLInputElement>("input[name=picture]")?.value
    item?.remove()
    // What is the message's stays until it is saved; the server knows which that is.
    if (id && !this.shown.includes(id)) void limitedFetch(`/api/v1/pictures/${id}`, { method: "DELETE" }).catch(() => undefined)
    this.changed()
    this.textTarget.focus()
  }

  changed(): void {
    if (this.written === this.shown) forget(this.key)
    else save(this.key, this.written)
    this.redraw()
  }

  // The message has these now.
  sent(event: CustomEvent<{ pictures: string[] }>): void {
    for (const item of this.itemTargets) {
      const id = item.querySelector<HTMLInputElement>("input[name=picture]")?.value
      if (id && event.detail.pictures.includes(id)) item.remove()
    }
    this.changed()
  }

  answered(event: TurboSubmitEndEvent): void {
    if (event.detail.success) forget(this.key)
  }

  discard(): void {
    forget(this.key)
    this.fill(read(this.shown) ?? [])
    this.redraw()
  }

  private async add(files: File[]): Promise<void> {
    const room = this.limitValue - this.itemTargets.length
    if (files.length > room)
      showProblem(_("A message has at most {limit} pictures. Remove some.", { limit: this.limitValue }), this.element)
    for (const file of files.slice(0, Math.max(room, 0))) await this.upload(file)
  }

  private async upload(file: File): Promise<void> {
    if (file.size > this.megabytesValue * 1024 * 1024) {
      const limit = this.megabytesValue
      showProblem(_("{file} is larger than {limit} MB. Choose a smaller picture.", { file: file.name, limit }), this.element)
      return
    }
    const item = this.item({ id: "", sha256: "", title: "" })
    this.listTarget.append(item)
    this.redraw()
    const body = new FormData()
    body.append("file", file)
    try {
      const response = await limitedFetch(`/api/v1/conversations/${this.conversationValue}/pictures`, { method: "POST", body })
      const answer = (await response.json()) as Answer
      if (!item.isConnected) return
      if (answer.id && answer.sha256) item.replaceWith(this.item({ id: answer.id, sha256: answer.sha256, title: "" }))
      else this.fail(item, answer.error?.sentence ?? _("The picture was not uploaded. Try again."))
    } catch {
      this.fail(item, _("The server did not answer. Add the picture again."))
    }
    this.changed()
  }

  private fail(item: HTMLElement, sentence: string): void {
    item.remove()
    showProblem(sentence, this.element)
  }

  private fill(pictures: DraftPicture[]): void {
    this.listTarget.replaceChildren(...pictures.map((picture) => this.item(picture)))
  }

  private item(picture: DraftPicture): HTMLElement {
    const item = this.templateTarget.content.firstElementChild!.cloneNode(true) as HTMLElement
    const image = item.querySelector("img")!
    if (picture.sha256) image.src = `/api/v1/blobs/${picture.sha256}`
    else image.remove()
    item.toggleAttribute("aria-busy", picture.id === "")
    item.dataset.sha256 = picture.sha256
    const id = item.querySelector<HTMLInputElement>("input[name=picture]")!
    id.value = picture.id
    id.disabled = picture.id === ""
    const title = item.querySelector<HTMLInputElement>("input[name=picture_title]")
    if (title) title.value = picture.title
    return item
  }

  private redraw(): void {
    const count = this.itemTargets.length
    this.listTarget.hidden = count === 0
    this.textTarget.required = count === 0 && this.textTarget.dataset.required !== undefined
    this.element.dataset.uploading = String(this.itemTargets.some((item) => item.hasAttribute("aria-busy")))
  }

  private get written(): string {
    const pictures: DraftPicture[] = []
    for (const item of this.listTarget.children) {
      const id = item.querySelector<HTMLInputElement>("input[name=picture]")?.value
      const title = item.querySelector<HTMLInputElement>("input[name=picture_title]")?.value ?? ""
      if (id && item instanceof HTMLElement) pictures.push({ id, sha256: item.dataset.sha256 ?? "", title })
    }
    return JSON.stringify(pictures)
  }

  private get key(): string {
    return `tavernkit:pictures:${this.keyValue}`
  }
}

function read(text: string | null): DraftPicture[] | null {
  try {
    return text === null ? null : (JSON.parse(text) as DraftPicture[])
  } catch {
    return null
  }
}

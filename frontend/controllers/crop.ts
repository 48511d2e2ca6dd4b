import { Controller } from "@hotwired/stimulus"

const RATIO = 2 / 3
const LARGEST_WIDTH = 2048
const ALREADY_PORTRAIT = 0.02

// Cuts a chosen picture to a portrait before it is uploaded. The sliders do everything; a pointer can move the picture
// as well. Without a script, the picture is uploaded as it is.
export default class Crop extends Controller<HTMLFormElement> {
  static override targets = ["file", "tools", "canvas", "enabled", "zoom", "across", "down"]

  declare readonly fileTarget: HTMLInputElement
  declare readonly toolsTarget: HTMLElement
  declare readonly canvasTarget: HTMLCanvasElement
  declare readonly enabledTarget: HTMLInputElement
  declare readonly zoomTarget: HTMLInputElement
  declare readonly acrossTarget: HTMLInputElement
  declare readonly downTarget: HTMLInputElement

  private picture?: ImageBitmap | undefined
  private grabbed?: { x: number; y: number } | undefined

  async chosen(): Promise<void> {
    const file = this.fileTarget.files?.[0]
    this.picture = undefined
    try {
      this.picture = file && (await createImageBitmap(file))
    } catch {
      // The server says what is wrong with it.
    }
    this.toolsTarget.hidden = !this.picture
    if (!this.picture) return
    const { width, height } = this.picture
    this.enabledTarget.checked = Math.abs(width / height - RATIO) > ALREADY_PORTRAIT
    for (const [slider, value] of [[this.zoomTarget, "0"], [this.acrossTarget, "50"], [this.downTarget, "0"]] as const) slider.value = value
    this.draw()
  }

  draw(): void {
    if (!this.picture) return
    for (const slider of [this.zoomTarget, this.acrossTarget, this.downTarget]) slider.disabled = !this.enabledTarget.checked
    paint(this.picture, this.canvasTarget, this.area)
  }

  grab(event: PointerEvent): void {
    if (!this.enabledTarget.checked) return
    this.grabbed = { x: event.clientX, y: event.clientY }
    this.canvasTarget.setPointerCapture(event.pointerId)
  }

  drag(event: PointerEvent): void {
    if (!this.grabbed || !this.picture) return
    const area = this.area
    const scale = area.width / this.canvasTarget.clientWidth
    slide(this.acrossTarget, ((this.grabbed.x - event.clientX) * scale) / (this.picture.width - area.width))
    slide(this.downTarget, ((this.grabbed.y - event.clientY) * scale) / (this.picture.height - area.height))
    this.grabbed = { x: event.clientX, y: event.clientY }
    this.draw()
  }

  release(): void {
    this.grabbed = undefined
  }

  async send(event: Event): Promise<void> {
    if (!this.picture || !this.enabledTarget.checked) return
    event.preventDefault()
    event.stopImmediatePropagation()
    const area = this.area
    const canvas = document.createElement("canvas")
    canvas.width = Math.round(Math.min(area.width, LARGEST_WIDTH))
    canvas.height = Math.round(canvas.width / RATIO)
    paint(this.picture, canvas, area)
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"))
    if (blob) {
      const files = new DataTransfer()
      files.items.add(new File([blob], "picture.png", { type: "image/png" }))
      this.fileTarget.files = files.files
    }
    this.picture = undefined
    this.element.requestSubmit()
  }

  // The part of the picture that is kept, in its own pixels.
  private get area(): DOMRect {
    const { width, height } = this.picture as ImageBitmap
    if (!this.enabledTarget.checked) return new DOMRect(0, 0, width, height)
    const zoom = 1 + (3 * Number(this.zoomTarget.value)) / 100
    const kept = Math.min(width, height * RATIO) / zoom
    const tall = kept / RATIO
    return new DOMRect(((width - kept) * Number(this.acrossTarget.value)) / 100, ((height - tall) * Number(this.downTarget.value)) / 100, kept, tall)
  }
}

function slide(slider: HTMLInputElement, share: number): void {
  if (Number.isFinite(share)) slider.value = String(Number(slider.value) + 100 * share)
}

function paint(picture: ImageBitmap, canvas: HTMLCanvasElement, area: DOMRect): void {
  const context = canvas.getContext("2d")
  if (!context) return
  const scale = Math.min(canvas.width / area.width, canvas.height / area.height)
  const [width, height] = [area.width * scale, area.height * scale]
  context.clearRect(0, 0, canvas.width, canvas.height)
  context.drawImage(picture, area.x, area.y, area.width, area.height, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height)
}

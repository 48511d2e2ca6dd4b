// False where the browser does not allow it. The clipboard's own interface exists only in secure contexts; a page on the
// local network may be none.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const focused = document.activeElement
  const box = document.createElement("textarea")
  box.value = text
  box.className = "sr-only"
  document.body.append(box)
  box.select()
  const copied = document.execCommand("copy")
  box.remove()
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  return copied
}

// What has been typed and is not on the server yet, by any name; known to the whole page.
const names = new Set<string>()

export function setUnsaved(name: string, unsaved: boolean): void {
  if (unsaved) names.add(name)
  else names.delete(name)
}

export function isAnythingUnsaved(): boolean {
  return names.size > 0
}

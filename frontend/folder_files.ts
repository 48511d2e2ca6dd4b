// The files of a folder, or a single file, that somebody has chosen or dropped.

export interface FolderFile {
  path: string
  file: File
}

export interface ChosenFiles {
  name: string
  files: FolderFile[]
}

// Programs and their history: nobody's stories, and tens of thousands of files.
const LEFT_OUT = /(^|\/)(node_modules|\.git)\//
// Only their names are sent, so that the scan can say that they are not read.
const SECRET = /(^|\/)(secrets\.json|secrets_migration_[^/]*|cookie-secret\.txt|_storage\/[^/]*)$/

export async function filesDropped(transfer: DataTransfer): Promise<ChosenFiles> {
  // All at once: behind the first pause the browser has forgotten them. What is no file of a disk has no entry.
  const items = [...transfer.items].filter((item) => item.kind === "file")
  const dropped = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
  const files: FolderFile[] = []
  for (const one of dropped) {
    if (one instanceof File) files.push({ path: one.name, file: one })
    else if (one) await collect(one, "", files)
  }
  return chosen(files)
}

export function filesChosen(list: FileList): ChosenFiles {
  const files = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
  return chosen(files.filter(({ path }) => !LEFT_OUT.test(path)))
}

// What is sent of a file.
export function bodyOf({ path, file }: FolderFile): Blob {
  return SECRET.test(path) ? new Blob([]) : file
}

// Below one folder, paths begin inside of it: what it is called on this machine says nothing about its files.
function chosen(files: FolderFile[]): ChosenFiles {
  const first = files[0]?.path ?? ""
  const name = first.split("/")[0] ?? ""
  const isOneFolder = first.includes("/") && files.every(({ path }) => path.startsWith(`${name}/`))
  if (!isOneFolder) return { name, files }
  return { name, files: files.map(({ path, file }) => ({ path: path.slice(name.length + 1), file })) }
}

async function collect(entry: FileSystemEntry, above: string, files: FolderFile[]): Promise<void> {
  const path = above + entry.name
  if (entry.isFile) {
    const file = await new Promise<File>((found, failed) => (entry as FileSystemFileEntry).file(found, failed))
    files.push({ path, file })
  } else if (!LEFT_OUT.test(`${path}/`)) {
    const reader = (entry as FileSystemDirectoryEntry).createReader()
    // A browser gives some of them at a time, and at the end none.
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((found, failed) => reader.readEntries(found, failed))
      if (some.length === 0) return
      for (const one of some) await collect(one, `${path}/`, files)
    }
  }
}

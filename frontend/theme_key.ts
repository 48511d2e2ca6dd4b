export const THEME_KEY = "tavernkit:theme"

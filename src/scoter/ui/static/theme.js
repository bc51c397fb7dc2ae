// Sets the chosen theme before anything is drawn. Without a choice, the system's preference applies.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the choice lasts as long as the page.
}

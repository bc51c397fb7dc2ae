// Shows the tag with the address of this page.
for (const each of document.querySelectorAll("[data-tag]")) {
  const address = new URL("search-box.js", location.href.split(/[?#]/)[0]);
  each.textContent = `<script src="${address}"${each.dataset.tag} defer></` + "script>";
}

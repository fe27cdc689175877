// Sends the code of the link, and removes it from the address and the history.
const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("login").requestSubmit();
}

// Sends the code of the link, and removes it from the address and the history.
function send() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("login").requestSubmit();
}

// a link that is pasted into the tab of this page changes only the fragment
addEventListener("hashchange", send);
send();

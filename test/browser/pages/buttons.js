// Shared by both shops: a button per action, and below it the result as JSON.

/** `actions`: the action of each button, by its id. The result is displayed in `<id>-result`. */
export function showButtons(actions) {
  for (const [name, action] of Object.entries(actions)) {
    const row = document.createElement('p')
    const button = document.createElement('button')
    const output = document.createElement('output')
    button.id = name
    button.textContent = name
    output.id = `${name}-result`
    const press = async () => {
      output.textContent = ''
      output.textContent = JSON.stringify(await action().catch(errorOf)) ?? 'null'
    }
    button.addEventListener('click', () => void press())
    row.append(button, ' ', output)
    document.getElementById('actions').append(row)
  }
}

function errorOf({ code, message, data }) {
  return { error: { code, message, data } }
}

export function resultOf(name) {
  return JSON.parse(document.getElementById(`${name}-result`).textContent)
}
